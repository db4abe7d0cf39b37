"""The texts of the committed files."""

KOREAN = "제1조 매도인은 2025년 3월 2일까지 대금 5,000,000원을 지급한다."
CHINESE = "第一条 出卖人应当在2025年3月2日之前支付价款五百万元。"
ENGLISH = "Clause 1. The seller pays the price of $5,000 by 2 March 2025."
